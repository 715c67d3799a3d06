"""Families of topics: words a question raises, and words an answer to it tends to use, in both languages.

Coarse on purpose: it tells work from holidays and code from quarrels, not a good answer from a bad one.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re
from dataclasses import dataclass

from inference.nlp.lexicon import chinese, english, english_stems


@dataclass(frozen=True, slots=True)
class Topic:
    """`asked` finds the topic in a question; `told_*` find it in an answer."""

    name: str
    asked: re.Pattern[str]
    told_en: re.Pattern[str]
    told_zh: re.Pattern[str]


TECHNICAL_EN = english_stems(
    "service|latenc|quer|cache|caching|database|server|api|deploy|code|coding|bug|index|queue|parser|pipeline|test|cluster|crawler|replica|shard|thread|memory|"
    "cpu|disk|network|packet|timeout|retry|token|bucket|redis|kafka|postgres|mysql|mongo|sql|docker|kubernetes|k8s|linux|python|java|golang|rust|javascript|typescript|react|"
    "django|flask|spring|http|tcp|udp|dns|tls|ssl|grpc|rest|graphql|websocket|gateway|proxy|load balanc|balancer|backend|frontend|microservice|monolith|algorithm|hash|tree|"
    "complexit|schema|migration|migrat|script|log|monitor|metric|alert|profil|refactor|architect|scal|throughput|request|response|endpoint|client|crash|debug|stack|heap|lock|"
    "deadlock|race|transaction|commit|rollback|backup|encrypt|decrypt|auth|certificate|handshake|datagram|segment|byte|bit|datacenter|cloud|aws|gcp|azure|lambda|function|"
    "model|dataset|training|inference|gpu|neural|classifier|regression|feature|embedding|stream|batch|event|message|consumer|producer|partition|session|cookie|browser|"
    "compil|build|ci|cd|git|version|release|library|framework|dependenc|integration|system|software|hardware|sensor|firmware|circuit|protocol|celery|worker|cron|job|qps|rps|"
    "lua|atomic|idempot|counter|id|url|redirect|mapping|key|node|leader|consensus|replicat|raft|eventual|cdn|storage|column|row|table|pointer|garbage|process|interface|class|object|data"
)
TECHNICAL_ZH = chinese(
    "服务|接口|延迟|查询|缓存|数据库|数据|服务器|部署|代码|索引|队列|爬虫|链路|集群|分片|线程|进程|内存|磁盘|网络|超时|重试|令牌|限流|消息|消费者|微服务|算法|哈希|表|事务|"
    "脚本|日志|监控|告警|重构|架构|并发|吞吐|请求|响应|前端|后端|网关|负载|加密|证书|握手|密钥|协议|模型|训练|特征|流式|批处理|分区|会话|浏览器|编译|构建|版本|发布|上线|框架|"
    "系统|软件|迁移|对账|容器|云|主键|自增|发号器|号段|进制|映射|热点|跳转|存储|冲突|编码|同步|异步|主从|副本|一致性|测试|故障|报错|宕机|压测|明文|对称|传输|字段|程序|技术"
)
WORK_EN = english_stems(
    "team|project|compan|customer|client|colleague|manager|boss|deadline|meeting|product|launch|release|stakeholder|budget|sale|marketing|account|order|store|shift|"
    "patient|nurse|clinic|hospital|ward|student|class|school|lesson|teach|guest|hotel|restaurant|warehouse|deliver|supplier|invoice|contract|report|audit|hire|hiring|"
    "train|onboard|job|role|career|office|department|business|revenue|cost|process|ticket|support|complain|feedback|review|plan|goal|task|responsib|experience|intern|"
    "engineer|develop|designer|analyst|work|employer|startup|bank|agency|firm|group|lead|led|coach|mentor|promot|perform|quality|schedule|scope|requirement|research|thesis|paper|volunteer|club|event|campaign|page|user|payment|skill|learn|explain"
)
WORK_ZH = chinese(
    "团队|项目|公司|客户|同事|领导|经理|老板|上线|会议|产品|发布|预算|销售|市场|订单|门店|班|病人|护士|医院|学生|学校|老师|课|客人|酒店|仓库|交付|供应商|合同|报告|招聘|培训|"
    "岗位|工作|职业|部门|业务|收入|成本|流程|工单|客服|投诉|反馈|评审|计划|目标|任务|负责|经验|实习|工程师|开发|测试|设计师|运营|分析|绩效|质量|进度|需求|论文|活动|用户|支付|平台|技能|学习|离职|系统|技术|努力"
)
LEISURE_EN = english(
    "lake|beach|holiday|holidays|vacation|weather|fish|fishing|cooked|cook|cooking|recipe|pasta|pizza|salt|dinner|lunch|breakfast|restaurant food|film|films|movie|movies|actor|song|songs|singer|concert|band|"
    "album|dog|dogs|cat|cats|puppy|pet|pets|football|soccer|basketball|tennis|swimming|hiking|mountain|mountains|camping|garden|gardening|flowers|birthday|wedding|sister|brother|mother|father|"
    "grandmother|grandfather|aunt|uncle|cousin|family|kids|weekend|summer|picnic|museum|castle|paris|island|boat|sea|river|sunset|shopping|shoes|novel|novels|poem|video game|video games|guitar|piano|dance|dancing|"
    "coffee|tea|cake|chocolate|ice cream|favourite|favorite|hobby|hobbies|snow|ski|skiing|rain|sunny|delicious|tasty|king|queen|war|revolution|monarchy|planet|moon|dinosaurs"
)
LEISURE_ZH = chinese(
    "爬山|风景|特色菜|家人|电影|喜剧|小狗|小猫|旅行|旅游|音乐|唱歌|歌手|演唱会|妹妹|弟弟|姐姐|哥哥|爸爸|妈妈|奶奶|爷爷|周末|天气|海边|沙滩|度假|钓鱼|做饭|火锅|好吃|美食|菜|面条|饺子|"
    "足球|篮球|游泳|跑步|露营|花园|生日|婚礼|博物馆|购物|小说|吉他|钢琴|跳舞|咖啡|奶茶|蛋糕|最喜欢的|爱好|下雪|滑雪|晴天|公园|动物|游戏|追剧|电视剧|综艺|皇帝|战争"
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        "conflict",
        re.compile(
            r"conflict|disagree|difficult (?:person|colleague|coworker|people|stakeholder)|argument|get along|意见|分歧|冲突|矛盾|争执|不同意|难相处|不一致"
        ),
        english_stems(
            "disagree|conflict|argu|colleague|coworker|concern|listen|agree|both sides|feedback|compromis|opinion|tension|talk|relationship|trust|apolog|designer|manager|he|she|they|fault|team|discuss"
        ),
        chinese(
            "分歧|意见|不同意|争执|冲突|沟通|同事|谈|妥协|共识|矛盾|说服|方案|支持|争论|坚持|他|她|双方|各自|讨论|商量|理解"
        ),
    ),
    Topic(
        "failure",
        re.compile(
            r"fail|mistake|wrong|regret|weakness|setback|went badly|失败|错误|失误|犯错|遗憾|挫折|教训"
        ),
        english_stems(
            "fail|mistake|wrong|miss|lost|loss|should have|did not|didn't|broke|forgot|learn|learned|checklist|never happened|rollback|late|bug|migration|error|deploy|fix|regret|fault"
        ),
        chinese("失败|错|失误|漏|丢|忘|没有|教训|复盘|出问题|后悔|弥补|补救|晚了|延期|搞砸|失败的|下线|道歉"),
    ),
    Topic(
        "leadership",
        re.compile(
            r"\blead|\bled\b|leader|manage|managing|mentor|coach|team|带领|带团队|团队|领导|管理|带过|组长"
        ),
        english_stems(
            "team|led|lead|manag|deleg|coach|mentor|hire|hiring|one-on-one|meeting|people|group|interview|pilot|volunteer|train|support|motivat|member|report|everyone|colleague|department|analyst"
        ),
        chinese("团队|带|组|领导|管理|分工|培训|导师|招|员工|成员|一对一|每个人|离职|激励|目标|沟通|人"),
    ),
    Topic(
        "customer",
        re.compile(r"customer|client|user|guest|patient|unhappy|complain|客户|用户|顾客|投诉|病人|客人"),
        english_stems(
            "customer|client|guest|user|patient|complain|apolog|refund|call|order|deliver|angry|upset|account|support|merchant|buyer|store|student|parent|satisf"
        ),
        chinese("客户|用户|顾客|客人|病人|投诉|道歉|退款|满意|电话|订单|商家|家长|服务"),
    ),
    Topic(
        "deadline",
        re.compile(
            r"deadline|pressure|stress|tight|time management|prioriti|busy|urgent|压力|按时|截止|紧急|时间紧|优先级|加班|期限"
        ),
        english_stems(
            "deadline|week|day|hour|date|launch|scope|priorit|time|early|late|schedule|deliver|finish|pressure|plan|release|urgent|month|overtime|ship|complete|stress|cut"
        ),
        chinese("按时|提前|截止|上线|天|周|时间|紧|优先|加班|交付|压力|需求|砍|赶|完成|计划|进度"),
    ),
    Topic(
        "technical",
        re.compile(
            r"technical|problem|bug|system|software|code|coding|performance|debug|incident|engineer|technolog|api|database|server|service|design|http|tcp|udp|sql|cache|python|java|kubernetes|"
            r"architecture|algorithm|data|技术|系统|代码|故障|性能|架构|优化|数据库|接口|缓存|算法|http|服务|并发|链接|设计|实现|网络|编程"
        ),
        TECHNICAL_EN,
        TECHNICAL_ZH,
    ),
    Topic(
        "achievement",
        re.compile(
            r"proud|achiev|accomplish|success|biggest|greatest|best|project|improv|process|initiative|自豪|骄傲|成就|成功|项目|改进|改善|流程|最有"
        ),
        english_stems(
            "built|build|team|project|cut|reduc|improv|increas|launch|won|award|grew|deliver|first|process|save|result|time|user|customer|system|design|creat|work|wait|complain|stop"
        ),
        chinese("项目|做|完成|提升|改进|团队|上线|获得|奖|成功|系统|设计|负责|流程|效率|成本|客户|用户"),
    ),
    Topic(
        "motive",
        re.compile(
            r"\bwhy\b|motivat|join|leave|want to work|looking for|goal|yourself|strength|future|interested|为什么|加入|离开|离职|动力|规划|优点|优势|长处|未来|期望|吸引|看重"
        ),
        english_stems(
            "product|team|compan|role|learn|work|want|build|people|mission|user|grow|career|culture|benefit|challeng|opportunit|interest|your|goal|skill|good at|experience|job|because|value|explain"
        ),
        chinese(
            "公司|平台|产品|团队|学习|成长|发展|希望|想|方向|业务|技术|文化|福利|挑战|机会|环境|经验|因为|用户|规划|擅长"
        ),
    ),
    Topic(
        "career",
        re.compile(
            r"career|background|experience|yourself|resume|\bcv\b|work history|last project|years|经历|背景|自我介绍|经验|简历|几年|工作"
        ),
        english_stems(
            "start|join|year|engineer|compan|team|lead|work|role|project|study|studied|degree|university|move|today|now|promot|intern|graduat|build|service|manage|responsib|job|experience"
        ),
        chinese("毕业|公司|工作|年|负责|团队|项目|大学|专业|实习|加入|现在|经验|做|岗位|工程师"),
    ),
    Topic(
        "learning",
        re.compile(
            r"learn|new (?:skill|technology|tool)|feedback|criticism|adapt|change|学习|学会|新技术|反馈|批评|适应|变化"
        ),
        english_stems(
            "learn|read|course|book|practi|tutorial|document|ask|feedback|mentor|month|week|skill|try|tried|adapt|change|new|build|teach|understand|listen"
        ),
        chinese("学|读|看|课程|书|文档|练习|请教|反馈|改|适应|变化|新|掌握|理解|尝试"),
    ),
)
